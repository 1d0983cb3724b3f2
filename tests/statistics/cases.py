"""The cases whose error rates docs/statistics.md states."""

from tests.statistics.simulated import Case, heavy, normal, skewed, two_modes

BY_STARTS = (
    Case(name="3 starts each, normal", starts=(3, 3), between=normal(0.02), effect=0.10),
    Case(name="3 starts each, heavy tail", starts=(3, 3), between=heavy(0.02), effect=0.10),
    Case(name="3 starts each, skewed", starts=(3, 3), between=skewed(0.02), effect=0.10),
    Case(
        name="3 starts each, two modes x 1.13, half each",
        starts=(3, 3),
        between=two_modes(1.13, 0.5, 0.005),
        effect=0.50,
    ),
    Case(name="3 starts each, one in ten x 1.5", starts=(3, 3), between=two_modes(1.5, 0.1, 0.02), effect=0.10),
    Case(name="4 starts each, normal", starts=(4, 4), between=normal(0.02), effect=0.10),
    Case(name="5 starts each, normal", starts=(5, 5), between=normal(0.02), effect=0.05),
    Case(name="5 starts each, spread 11 %", starts=(5, 5), between=normal(0.047), effect=0.05),
    Case(name="5 starts each, heavy tail", starts=(5, 5), between=heavy(0.02), effect=0.05),
    Case(
        name="5 starts each, two modes x 1.6, half each", starts=(5, 5), between=two_modes(1.6, 0.5, 0.01), effect=0.10
    ),
    Case(name="10 starts each, normal", starts=(10, 10), between=normal(0.02), effect=0.03),
    Case(name="10 starts each, heavy tail", starts=(10, 10), between=heavy(0.02), effect=0.03),
    Case(name="10 starts each, one in ten x 1.5", starts=(10, 10), between=two_modes(1.5, 0.1, 0.02), effect=0.05),
    Case(name="20 starts each, skewed", starts=(20, 20), between=skewed(0.02), effect=0.02),
    Case(name="3 starts against 8, normal", starts=(3, 8), between=normal(0.02), effect=0.06),
    Case(name="5 starts each of 200 lines, phi 0.9", starts=(5, 5), samples=200, phi=0.9, effect=0.08),
)
BY_HISTORY = (
    Case(name="1 start each, 5 others, normal", others=5, effect=0.20),
    Case(name="1 start each, 5 others, heavy tail", others=5, between=heavy(0.02), effect=0.20),
    Case(name="1 start each, 5 others, skewed", others=5, between=skewed(0.02), effect=0.20),
    Case(
        name="1 start each, 5 others, two modes x 1.13, half each",
        others=5,
        between=two_modes(1.13, 0.5, 0.005),
        effect=0.50,
    ),
    Case(
        name="1 start each, 5 others, one in ten x 1.5",
        others=5,
        between=two_modes(1.5, 0.1, 0.02),
        effect=0.20,
        alarms=0.12,
    ),
    Case(name="1 start each, 15 others, normal", others=15, effect=0.10),
    Case(name="1 start each, 15 others, heavy tail", others=15, between=heavy(0.02), effect=0.10),
    Case(name="1 start each, 15 others, one in ten x 1.5", others=15, between=two_modes(1.5, 0.1, 0.02), effect=1.0),
    Case(
        name="2 starts each, 5 others, one in ten x 1.5",
        starts=(2, 2),
        others=5,
        between=two_modes(1.5, 0.1, 0.02),
        effect=0.20,
    ),
    Case(name="2 starts each, 5 others, heavy tail", starts=(2, 2), others=5, between=heavy(0.02), effect=0.10),
    Case(name="1 start against 6, normal", starts=(6, 1), effect=0.10),
    Case(name="2 starts against 8, heavy tail", starts=(8, 2), between=heavy(0.02), effect=0.10),
)
BY_SAMPLES = (
    Case(name="1 start each, 10 repeats", kind="repeats", samples=10, effect=0.30),
    Case(name="1 start each, 50 lines, phi 0.5", samples=50, phi=0.5, effect=0.30),
    Case(name="1 start each, 50 lines, phi 0.9", samples=50, phi=0.9, effect=0.30),
    Case(name="1 start each, 400 repeats", kind="repeats", samples=400, effect=0.30),
    Case(name="1 start each, 400 lines, phi 0.5", samples=400, phi=0.5, effect=0.30),
    Case(name="1 start each, 400 lines, phi 0.9", samples=400, phi=0.9, effect=0.30),
    Case(
        name="1 start each, 400 lines, phi 0.9, starts spread 5 %",
        samples=400,
        phi=0.9,
        between=normal(0.05),
        effect=0.30,
    ),
    Case(name="1 start each, 400 lines, phi 0.97, noise 20 %", samples=400, phi=0.97, noise=normal(0.2), effect=0.60),
    Case(name="1 start each, 400 lines, phi 0.5, heavy tail 20 %", samples=400, phi=0.5, noise=heavy(0.2), effect=0.30),
    Case(
        name="1 start each, 400 repeats, two modes x 1.5 inside",
        samples=400,
        noise=two_modes(1.5, 0.5, 0.02),
        effect=0.30,
    ),
    Case(
        name="2 starts each, 100 lines, phi 0.9, starts spread 5 %",
        starts=(2, 2),
        samples=100,
        phi=0.9,
        between=normal(0.05),
        effect=0.30,
    ),
    Case(
        name="1 start each, 100 lines, two modes of starts x 1.5",
        samples=100,
        phi=0.5,
        between=two_modes(1.5, 0.5, 0.02),
        effect=0.60,
        alarms=0.50,
    ),
)
ACROSS_EPOCHS = (
    Case(
        name="5 starts each in one epoch, epochs spread 2.8 %",
        starts=(5, 5),
        between=normal(0.002),
        epochs=1,
        across=normal(0.028),
        effect=0.20,
    ),
    Case(
        name="5 starts each in one epoch, epochs spread 5 %",
        starts=(5, 5),
        between=normal(0.005),
        epochs=1,
        across=normal(0.05),
        effect=0.20,
    ),
    Case(
        name="4 epochs of 2 starts each, epochs spread 2.8 %",
        starts=(8, 8),
        between=normal(0.002),
        epochs=4,
        across=normal(0.028),
        effect=0.10,
    ),
    Case(
        name="1 start each, 6 others in 6 epochs of 2.8 %",
        others=6,
        between=normal(0.002),
        epochs=6,
        across=normal(0.028),
        effect=0.20,
    ),
    Case(
        name="1 start each, 8 others in one epoch, epochs spread 2.8 %",
        others=8,
        between=normal(0.002),
        epochs=1,
        across=normal(0.028),
        effect=0.20,
    ),
)
CASES = {"starts": BY_STARTS, "history": BY_HISTORY, "samples": BY_SAMPLES, "epochs": ACROSS_EPOCHS}
MEMORY = tuple(
    Case(name=f"{lines} lines, phi {phi:g}", samples=lines, phi=phi, noise=normal(0.1))
    for lines in (50, 100, 400)
    for phi in (0.0, 0.5, 0.9, 0.97)
)
