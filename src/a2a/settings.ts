/** What an agent card may say of a graph: an assistant's `metadata.a2a`, and `a2a` of langgraph.json by graph id. */
import * as v from "valibot";

const Types = v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.minLength(1));
const Skill = v.object({
  id: v.string(),
  name: v.string(),
  description: v.string(),
  tags: v.pipe(v.array(v.string()), v.minLength(1)),
  examples: v.optional(v.array(v.string())),
});
const Extension = v.object({
  uri: v.pipe(v.string(), v.minLength(1)),
  description: v.optional(v.string()),
  required: v.optional(v.boolean()),
  params: v.optional(v.record(v.string(), v.unknown())),
});
const Address = v.pipe(v.string(), v.url());

export const CardSettings = v.strictObject({
  provider: v.optional(v.object({ organization: v.string(), url: Address })),
  documentation_url: v.optional(Address),
  icon_url: v.optional(Address),
  extensions: v.optional(v.pipe(v.array(Extension), v.minLength(1))),
  input_modes: v.optional(Types),
  output_modes: v.optional(Types),
  skills: v.optional(v.pipe(v.array(Skill), v.minLength(1))),
});
