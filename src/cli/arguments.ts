/** The arguments of the commands that work on a project. */
import { parseArgs, type ParseArgsConfig } from "node:util";
import { Fault } from "./fault.ts";

/** The option that names an environment of the project's wrangler configuration. */
export const ENV = { env: { type: "string" } } as const;

/**
 * The options by name, and the project's folder: this one if left out. Throws a Fault for a second folder, and an error
 * that main.ts reports as an argument error for an unknown option.
 */
export function readArguments<const T extends NonNullable<ParseArgsConfig["options"]>>(argv: string[], options: T) {
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options });
  const [dir = ".", more] = positionals;
  if (more !== undefined) throw new Fault(`Unexpected argument "${more}". The command takes one folder.`);
  return { values, dir };
}
