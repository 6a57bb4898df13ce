/** Arguments that several tools take. */
import * as v from "valibot";

export const describe = <S extends v.GenericSchema>(schema: S, text: string) => v.pipe(schema, v.description(text));

export const Uuid = v.pipe(v.string(), v.uuid("must be a UUID"));
export const Text = v.pipe(v.string(), v.minLength(1), v.maxLength(2_000));

/** A whole number within these bounds. */
export const between = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));

/** Which part of a long text to read. */
export const part = {
  offset: v.optional(describe(between(0, 100_000_000), "The first character to read."), 0),
  length: v.optional(describe(between(1, 20_000), "The most characters to read."), 8_000),
};

export const Project = describe(
  Text,
  'The project, by name or id. The project of this server\'s own runs is "default" unless the deployment names another.',
);
