"use strict";
{
  const find = document.getElementById("find");
  const areas = [...document.querySelectorAll("#states > details")];
  const rows = areas.map((area) => [...area.querySelectorAll("tbody tr")]);
  const said = find.querySelector("output");

  const show = (asked) => {
    let found = 0;
    areas.forEach((area, at) => {
      let here = 0;
      for (const row of rows[at]) {
        const hit = row.textContent.toLowerCase().includes(asked);
        row.hidden = !hit;
        here += hit;
      }
      area.open = asked !== "" && here > 0;
      area.hidden = here === 0 && asked !== "";
      found += here;
    });
    said.textContent = asked === "" ? "" : `${found} facts`;
  };

  find.hidden = false;
  find.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", () => show(document.getElementById("search").value.trim().toLowerCase()));
}
