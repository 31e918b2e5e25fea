"""The memory as tools of an agent, over the Model Context Protocol. The only room that imports fastmcp, inside functions.

tools.py says what an agent can do, answers.py what it gets back, server.py who is asking, refusals.py what never reaches a tool;
agents.py how a client is told of it.
"""
