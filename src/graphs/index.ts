/** The deployed graphs by id, filled by createWeir. */
import type { Lazy } from "../lazy.ts";
import type { GraphEntry } from "./entry.ts";

export const graphs: Record<string, GraphEntry | Lazy<GraphEntry>> = {};
