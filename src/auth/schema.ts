import * as v from "valibot";
import { SCOPES } from "./principal.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

export const CreateWorkspace = v.strictObject({
  id: v.optional(v.pipe(v.string(), v.uuid())),
  name,
});

export const CreateKey = v.strictObject({
  name: v.optional(name, "unnamed"),
  scopes: v.optional(v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1))),
});
