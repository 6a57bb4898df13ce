/** Texts with a grammar of their own, by the name of the member that takes them. */
import type { Dice } from "./dice.ts";
import { filterText } from "./filter.ts";
import { hostileText } from "./hostile.ts";
import type { Known } from "./world.ts";

type Make = (dice: Dice, known: Known) => unknown;

/** A cron expression of five fields, or nearly. */
export function cronText(dice: Dice): string {
  const number = () => String(dice.pick([0, 1, 5, 12, 29, 30, 31, 59, 60, 99, 2 ** 31]));
  const field = () =>
    dice.pick([
      "*",
      "*/5",
      "*/0",
      "?",
      "L",
      "W",
      number(),
      `${number()}-${number()}`,
      `${number()}/${number()}`,
      `${number()},${number()}`,
      "MON",
      "FEB",
      "SUN-SAT",
      "5#2",
      "5L",
      hostileText(dice).slice(0, 50),
    ]);
  if (dice.chance(0.1)) return dice.pick(["@daily", "@yearly", "@reboot", "0 0 30 2 *", "0 0 29 2 1"]);
  return Array.from({ length: dice.pick([5, 5, 5, 5, 4, 6, 7]) }, field).join(" ");
}

/** A redirect URI, or what tries to pass for one. */
export function redirectUri(dice: Dice): string {
  const scheme = dice.pick(["https", "http", "http", "myapp", "javascript", "data", "file", "HTTPS", "about"]);
  const host = dice.pick([
    "app.example",
    "127.0.0.1",
    "[::1]",
    "localhost",
    "127.1",
    "evil.example@app.example",
    "app.example:0",
    "app.example:99999",
    "xn--",
    "[::ffff:127.0.0.1]",
    "",
  ]);
  const path = dice.pick([
    "/cb",
    "",
    "/cb?x=1",
    "/cb#f",
    "/../cb",
    "/%0d%0aset-cookie:x=1",
    "\\evil",
    "/cb\0",
    hostileText(dice),
  ]);
  return dice.chance(0.05) ? hostileText(dice) : `${scheme}:${dice.pick(["//", "//", "//", "", "/"])}${host}${path}`;
}

/** Where a webhook or an export must not lead, and one public name that does not exist. */
export function target(dice: Dice): string {
  const hosts = [
    "hooks.example",
    "127.0.0.1:9",
    "[::1]:9",
    "169.254.169.254",
    "[::ffff:a9fe:a9fe]",
    "localhost.",
    "0",
    "0x7f.1",
    "10.0.0.1",
    "user:pw@hooks.example",
    "metadata.google.internal",
    "[fd00::1]",
  ];
  return dice.chance(0.1)
    ? redirectUri(dice)
    : `${dice.pick(["https", "http"])}://${dice.pick(hosts)}/${dice.pick(["", "x", "?a=1", "#f"])}`;
}

const ZONES = ["Europe/Berlin", "UTC", "America/St_Johns", "Mars/Olympus", "+05:30", "Etc/GMT+12", ""];
const GRAPHS = ["echo", "agent", "approval", "research", "nothing"];
const assistant: Make = (dice, known) =>
  dice.chance(0.6) ? dice.pick(GRAPHS.slice(0, 2)) : known.id(dice, "assistant_id");
const filter: Make = (dice) => filterText(dice);

export const TEXTS: Record<string, Make | undefined> = {
  schedule: cronText,
  timezone: (dice) => dice.pick(ZONES),
  webhook: target,
  filter,
  trace_filter: filter,
  tree_filter: filter,
  redirect_uris: (dice) => dice.some(3, () => redirectUri(dice)),
  redirect_uri: redirectUri,
  client_uri: redirectUri,
  logo_uri: redirectUri,
  endpoint_url: target,
  url: target,
  assistant_id: assistant,
  graph_id: (dice) => dice.pick(GRAPHS),
  destination_type: (dice) => dice.pick(["r2", "s3"]),
  cursor: (dice) => dice.pick([hostileText(dice), Buffer.from(hostileText(dice)).toString("base64url"), "eyJhIjoxfQ"]),
  // A run with 10,000 steps is no fault.
  recursion_limit: (dice) => dice.int(1, 12),
};
