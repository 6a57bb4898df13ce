/**
 * Assistants that this isolate has just read for a run. Code that changes an assistant calls
 * `knownAssistants.forget()`.
 */
import { RowCache } from "../lib/cache.ts";
import type { Assistant } from "../agents/assistants/row.ts";

export const assistantCache = new RowCache<Assistant>();
