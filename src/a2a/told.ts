/** What a graph tells A2A callers itself, through its writer: `config.writer({a2a: {...}})`. See docs/a2a.md. */
import * as v from "valibot";
import { JsonObject } from "../http/json.ts";
import type { Part } from "./types.ts";

const OwnPart = v.pipe(
  v.object({
    text: v.optional(v.string()),
    raw: v.optional(v.string()),
    url: v.optional(v.string()),
    data: v.optional(v.unknown()),
    filename: v.optional(v.string()),
    mediaType: v.optional(v.string()),
    metadata: v.optional(JsonObject),
  }),
  v.check(({ text, raw, url, data }) => [text, raw, url, data].filter((one) => one !== undefined).length === 1),
  v.transform((part): Part => part),
);
const Parts = v.pipe(v.array(OwnPart), v.minLength(1));

const Told = v.object({
  a2a: v.union([
    v.object({
      artifact: v.object({
        artifactId: v.optional(v.string()),
        name: v.optional(v.string()),
        description: v.optional(v.string()),
        parts: Parts,
        metadata: v.optional(JsonObject),
        append: v.optional(v.boolean(), false),
        lastChunk: v.optional(v.boolean()),
      }),
    }),
    v.object({
      status: v.object({
        state: v.picklist(["working", "input-required", "auth-required", "completed", "failed", "rejected"]),
        message: v.optional(
          v.union([
            v.pipe(
              v.string(),
              v.transform((text) => [{ text }]),
            ),
            Parts,
          ]),
        ),
      }),
    }),
    v.object({ message: v.object({ parts: Parts, metadata: v.optional(JsonObject) }) }),
  ]),
});
export type Told = v.InferOutput<typeof Told>["a2a"];

/** What a custom event tells A2A callers; undefined when it is not about them. */
export function told(data: unknown): Told | undefined {
  const result = v.safeParse(Told, data);
  return result.success ? result.output.a2a : undefined;
}
