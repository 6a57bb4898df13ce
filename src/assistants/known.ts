/**
 * Assistants that this isolate has just read for a run. Code that changes an assistant calls
 * `knownAssistants.forget()`.
 */
import { Known } from "../db/known.ts";
import type { Assistant } from "./row.ts";

export const knownAssistants = new Known<Assistant>();
