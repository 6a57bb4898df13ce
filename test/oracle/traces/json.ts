/** JSON with exact integers: texts as clients send them, values as the model compares them. */

/** An integer past 2^53 is a bigint. */
export type Value = string | number | bigint | boolean | null | Value[] | { [key: string]: Value };

/** The members of an object as JSON texts. They are sent as they are, with the escapes and digits of their source. */
export type Texts = Record<string, string>;

type Source = { source?: string };

/** The value of a JSON text. */
export const parseValue = (text: string): Value =>
  JSON.parse(text, ((_key: string, value: unknown, { source }: Source) =>
    typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value) as Parameters<typeof JSON.parse>[1]) as Value;

/** The JSON text of a value, without spaces. Equal values have equal texts. */
export function toText(value: Value): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(toText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${toText(item)}`);
  return `{${members.join(",")}}`;
}

/** An object of JSON texts as a JSON text. */
export const objectText = (members: Texts): string =>
  `{${Object.entries(members)
    .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
    .join(",")}}`;

export const isObject = (value: Value | undefined): value is { [key: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** How a filter names a value: a text as it is, anything else as JSON. */
export const showValue = (value: Value): string => (typeof value === "string" ? value : toText(value));
