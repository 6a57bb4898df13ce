/** The options of `npm run check:history`. */
import { parseArgs } from "node:util";
import type { Role } from "./record.ts";
import type { Address } from "./recorder.ts";

export interface Options {
  address: Address;
  seconds: number;
  /** Seconds of work between two checks. Each round has threads of its own. */
  round: number;
  clients: number;
  threads: number;
  seed: number;
  /** The assistant of each role. A role without one is not used. */
  assistants: Partial<Record<Role, string>>;
  searchBound: number;
}

const ROLES: readonly Role[] = ["echo", "approval", "agent"];

export const USAGE =
  "Usage: npm run check:history -- --url URL [--key KEY] [--header 'Name: value'] [--seconds 60] [--round 15] " +
  "[--clients 6] [--threads 4] [--seed N] [--assistant echo,approval=my-graph,agent] [--search-bound 10]";

/** The options of these arguments. Throws with a sentence for the user. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: "string" },
      key: { type: "string" },
      header: { type: "string", multiple: true, default: [] },
      seconds: { type: "string", default: "60" },
      round: { type: "string", default: "15" },
      clients: { type: "string", default: "6" },
      threads: { type: "string", default: "4" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
      assistant: { type: "string", default: ROLES.join() },
      "search-bound": { type: "string", default: "10" },
    },
  });
  if (!values.url || !URL.canParse(values.url)) throw new Error("--url takes the address of the server.");
  const counts = ["seconds", "round", "clients", "threads", "seed", "search-bound"] as const;
  for (const name of counts) {
    if (!/^[0-9]+$/.test(values[name])) throw new Error(`--${name} takes a whole number.`);
    if (name !== "seed" && Number(values[name]) === 0) throw new Error(`--${name} takes a number from 1 on.`);
  }
  return {
    address: {
      url: values.url.replace(/\/+$/, ""),
      headers: { ...(values.key && { "x-api-key": values.key }), ...parseHeaders(values.header) },
    },
    seconds: Number(values.seconds),
    round: Math.min(Number(values.round), Number(values.seconds)),
    clients: Number(values.clients),
    threads: Number(values.threads),
    seed: Number(values.seed),
    assistants: parseAssistants(values.assistant),
    searchBound: Number(values["search-bound"]) * 1_000,
  };
}

function parseHeaders(lines: string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([\w-]+): *(.+)$/.exec(line) ?? [];
      if (!name || !value) throw new Error("--header takes 'Name: value'.");
      return [name.toLowerCase(), value];
    }),
  );
}

/** `echo,approval=my-graph`: a role alone has the assistant of its name. */
function parseAssistants(text: string): Options["assistants"] {
  return Object.fromEntries(
    text.split(",").map((part) => {
      const [name = "", id = name] = part.trim().split("=");
      const role = ROLES.find((one) => one === name);
      if (!role || !id) throw new Error(`--assistant takes ${ROLES.join(", ")}, each also as role=assistant.`);
      return [role, id];
    }),
  );
}
