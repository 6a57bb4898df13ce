/** API keys on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Time } from "../../http/shapes.ts";

const members = {
  id: v.string(),
  workspace_id: v.string(),
  name: v.string(),
  hint: v.string(),
  scopes: v.array(v.string()),
  created_at: v.nullable(Time),
  expires_at: v.nullable(Time),
  last_used_at: v.nullable(Time),
  allowed_ips: v.nullable(v.array(v.string())),
  end_reason: v.nullable(v.string()),
  successor_id: v.nullable(v.string()),
  role: v.nullable(v.string()),
};

export const Key = v.pipe(v.object(members), v.title("ApiKey"));
export type Key = v.InferOutput<typeof Key>;

/** The key itself is shown once. */
export const NewKey = v.object({ ...members, key: v.string() });
export type NewKey = v.InferOutput<typeof NewKey>;
