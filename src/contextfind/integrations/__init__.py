"""What other frameworks are given: retrievers that ask a server through the client.

Each module needs the framework it is named after (`contextfind[langchain]`, `contextfind[llamaindex]`).
"""
