/** Items of the Store on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Time } from "../../http/shapes.ts";

/** An item in the wire format. */
export type Item = v.InferOutput<typeof Item>;

export const Item = v.pipe(
  v.object({
    namespace: v.array(v.string()),
    key: v.string(),
    value: AnyObject,
    created_at: Time,
    updated_at: Time,
    /** In lists: the value was encrypted with a key that is destroyed. */
    key_destroyed: v.optional(v.literal(true)),
  }),
  v.title("Item"),
);

/** An item that a search finds. `score`: how well it matches the query. */
export const FoundItem = v.pipe(v.object({ ...Item.entries, score: v.optional(v.number()) }), v.title("FoundItem"));
export type FoundItem = v.InferOutput<typeof FoundItem>;
