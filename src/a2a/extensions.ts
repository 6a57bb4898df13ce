/** Extensions of A2A: those that an agent's card declares, and those that a call requests. */
import type { Context } from "hono";
import type { Assistant } from "../agents/assistants/store.ts";
import type { App } from "../http/context.ts";
import { extensionRequired } from "../protocols/a2a/errors.ts";
import { readSettings } from "../protocols/a2a/modes.ts";

/** 1.0 and 0.3 name the header differently. */
const HEADERS = ["a2a-extensions", "x-a2a-extensions"];

/**
 * The headers of the answer: the requested extensions that the card declares. Throws −32008 when the card requires an
 * extension that the call does not request.
 */
export function activateExtensions(c: Context<App>, assistant: Assistant): Record<string, string> {
  const declared = readSettings(assistant).extensions ?? [];
  const asked = HEADERS.flatMap((name) => c.req.header(name)?.split(",") ?? []).map((uri) => uri.trim());
  const missing = declared.find(({ uri, required }) => required && !asked.includes(uri));
  if (missing) throw extensionRequired(missing.uri);
  const active = declared.filter(({ uri }) => asked.includes(uri)).map(({ uri }) => uri);
  if (active.length === 0) return {};
  return Object.fromEntries(HEADERS.filter((name) => c.req.header(name)).map((name) => [name, active.join(", ")]));
}
