/** Headers that the server reads, with values that it may not expect. */
import type { Dice } from "./dice.ts";
import { hostileText } from "./hostile.ts";

/** What a header may hold on the wire: visible ASCII, spaces and bytes above. */
const sendable = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, "?").slice(0, 4_000);

const MAKES: Record<string, (dice: Dice) => string> = {
  "last-event-id": (dice) => dice.pick(["0", "1", "-1", "1.5", "999999999999999999999", "1-2", hostileText(dice)]),
  "idempotency-key": (dice) => dice.pick([`k${dice.int(0, 20)}`, "", " ", "k".repeat(300), hostileText(dice)]),
  accept: (dice) => dice.pick(["*/*", "text/event-stream", "application/json", "text/html", "x", ""]),
  "x-request-id": hostileText,
  "x-forwarded-for": (dice) => dice.pick(["127.0.0.1", "::1, 10.0.0.1", hostileText(dice)]),
  "x-forwarded-host": (dice) => dice.pick(["evil.example", hostileText(dice)]),
  origin: (dice) => dice.pick(["https://evil.example", "null", "http://localhost", hostileText(dice)]),
  range: () => "bytes=0-1",
  "if-none-match": () => "*",
  "x-http-method-override": (dice) => dice.pick(["DELETE", "PATCH", "X"]),
  "content-encoding": (dice) => dice.pick(["gzip", "zstd", "br", "deflate", "gzip, gzip", "x"]),
  "a2a-version": (dice) => dice.pick(["1.0", "0.3", "9", hostileText(dice)]),
  "a2a-extensions": hostileText,
  "mcp-protocol-version": (dice) => dice.pick(["2025-06-18", "1999-01-01", hostileText(dice)]),
  "mcp-session-id": hostileText,
  prefer: (dice) => dice.pick(["wait=1", "respond-async"]),
  cookie: (dice) => `weir_session=${hostileText(dice)}; __Host-weir=${hostileText(dice)}`,
  "x-organization-id": (dice) => dice.pick(["00000000-0000-4000-8000-000000000000", hostileText(dice)]),
  traceparent: (dice) => dice.pick(["00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01", hostileText(dice)]),
  baggage: (dice) =>
    `a=${hostileText(dice)},langsmith-metadata=${encodeURIComponent(hostileText(dice).toWellFormed())}`,
  "langsmith-trace": hostileText,
};

/** A few of them. */
export function someHeaders(dice: Dice): Record<string, string> {
  if (dice.chance(0.6)) return {};
  const names = dice.some(3, () => dice.pick(Object.keys(MAKES)));
  return Object.fromEntries(names.map((name) => [name, sendable(MAKES[name]?.(dice) ?? "")]));
}
