"""The service's API: on a Unix socket for the group, on TCP for whoever has the token.

listening   sockets, and uvicorn on them
guard       who may ask, how much and how long: around the application
app         the application: errors in one form, OpenAPI
models      what is sent to it; all other types are those of the command line
routes/     what it answers, by theme
prometheus  GET /metrics
"""
