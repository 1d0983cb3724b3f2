"""Why a changed state can have moved a number: the mechanism graph, one file a theme."""
