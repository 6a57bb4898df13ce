/** Assistants and their versions on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../http/shapes.ts";

const version = {
  assistant_id: Id,
  graph_id: v.string(),
  version: Count,
  name: v.string(),
  description: v.nullable(v.string()),
  config: AnyObject,
  context: AnyObject,
  metadata: AnyObject,
  created_at: Time,
};

/** An assistant in the wire format. */
export type Assistant = v.InferOutput<typeof Assistant>;

export const Assistant = v.pipe(v.object({ ...version, updated_at: Time }), v.title("Assistant"));

export type AssistantVersion = v.InferOutput<typeof AssistantVersion>;

export const AssistantVersion = v.pipe(v.object(version), v.title("AssistantVersion"));
