/** Members that many request shapes share. */
import * as v from "valibot";

/** A member that may be left out. Clients send null for what they leave out, so null reads as absent. */
export const optional = <S extends v.GenericSchema<unknown, unknown>>(schema: S) =>
  v.optional(
    v.pipe(
      v.nullable(schema),
      v.transform((value): v.InferOutput<S> | undefined => value ?? undefined),
    ),
  );

/** A yes or no in the query string, in any spelling that the JavaScript and Python clients send. */
export const Flag = v.pipe(
  v.string(),
  v.regex(/^(true|false|1|0)$/i, "expected true or false"),
  v.transform((text) => /^(true|1)$/i.test(text)),
);
