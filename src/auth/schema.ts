import * as v from "valibot";
import { Uuid } from "../http/fields.ts";
import { SCOPES } from "./principal.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

export const CreateWorkspace = v.strictObject({
  id: v.optional(Uuid),
  name,
});

export const CreateKey = v.strictObject({
  name: v.optional(name, "unnamed"),
  scopes: v.optional(v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1))),
});
