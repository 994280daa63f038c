"""The coding agents that rag_agent is set up in: one package a host, rows for plain MCP hosts."""
