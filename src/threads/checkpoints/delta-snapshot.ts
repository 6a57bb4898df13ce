/** A project may have a LangGraph from before version 1, whose checkpoints have no snapshots of deltas: an import by name would fail its build. */
import * as checkpoint from "@langchain/langgraph-checkpoint";

export const { DeltaSnapshot } = checkpoint;
