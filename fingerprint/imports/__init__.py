"""Other tools' dumps as sections: one reader per format.

A reader takes the text from where a dump begins, and gives sections. What the text does not tell stays `not_read`, so
that it is never drift beside a snapshot that tells more. It raises ValueError, in one sentence, for what is not of its
format. `formats` lists the readers, `recognised` finds dumps in a text, `joined` makes one of several, and `dumps` is
the way from files and folders to a snapshot.
"""
