"""Other tools' dumps as sections: one reader per format.

A reader takes the text, and gives area -> section. What the text does not tell stays `not_read`, so that it is never
drift beside a snapshot that tells more. It raises ValueError, in one sentence, for what is not of its format.
"""
