/**
 * The registry: the one file to edit to deploy an agent. The name is the graph id that clients use; the value is a
 * compiled LangGraph graph, or a function that makes one from a run's config and the Worker's environment.
 * Compile without a checkpointer: Weir brings its own.
 */
import "../runtime/als.ts";
import { agent } from "./agent.ts";
import { approval } from "./approval.ts";
import { echo } from "./echo.ts";
import type { GraphEntry } from "./entry.ts";
import { research } from "./research.ts";

export const graphs: Record<string, GraphEntry> = { agent, approval, echo, research };
