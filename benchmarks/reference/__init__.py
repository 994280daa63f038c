"""Other programs' ways to rank, written anew to be measured beside rag_agent's."""
