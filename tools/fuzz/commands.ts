/** Commands of the streaming protocol, over HTTP and in frames of a WebSocket. */
import { COMMAND_PARAMS } from "../../test/security/methods.ts";
import type { Dice } from "./dice.ts";
import { someHeaders } from "./headers.ts";
import { damageText, pickHostileNumber, hostileObject, hostileText, hostileValue } from "./hostile.ts";
import { encodeBody } from "./operations.ts";
import { type FuzzRequest, toJson } from "./request.ts";
import { createThings } from "./rpc.ts";
import type { Actor, Known } from "./world.ts";

const METHODS = Object.keys(COMMAND_PARAMS);
const CHANNELS = [
  "values",
  "updates",
  "messages",
  "tools",
  "custom",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom:x",
];

function command(dice: Dice, known: Known): unknown {
  const method = dice.chance(0.95) ? dice.pick(METHODS) : hostileText(dice);
  return {
    id: dice.chance(0.95) ? dice.int(0, 9) : hostileValue(dice),
    method,
    params: dice.chance(0.05) ? hostileValue(dice) : generateParams(dice, method, known),
  };
}

function generateParams(dice: Dice, method: string, known: Known): object {
  const own = Object.hasOwn(COMMAND_PARAMS, method) ? COMMAND_PARAMS[method] : undefined;
  const base = own?.(createThings(dice, known)) ?? {};
  const more = {
    assistant_id: dice.chance(0.7) ? dice.pick(["echo", "agent", "approval", "_"]) : known.id(dice, "assistant_id"),
    input: dice.chance(0.5) ? { messages: [{ role: "user", content: hostileText(dice) }] } : hostileValue(dice),
    config: { configurable: hostileObject(dice) },
    metadata: hostileObject(dice),
    namespace: dice.some(3, () => hostileText(dice)),
    interrupt_id: hostileText(dice),
    responses: dice.some(3, () => ({ interrupt_id: hostileText(dice), response: hostileValue(dice) })),
    checkpoint_id: known.id(dice, "checkpoint_id"),
    limit: pickHostileNumber(dice),
    before: known.id(dice, "checkpoint_id"),
    keys: dice.some(3, () => hostileText(dice)),
    goto: hostileValue(dice),
    channels: dice.some(4, () => (dice.chance(0.9) ? dice.pick(CHANNELS) : hostileText(dice))),
    namespaces: dice.some(3, () => dice.some(2, () => hostileText(dice))),
    depth: dice.pick([0, 1, pickHostileNumber(dice)]),
    since: dice.pick([0, 1, pickHostileNumber(dice)]),
    since_event_id: hostileText(dice),
    multitask_strategy: dice.pick(["reject", "enqueue", "interrupt", "rollback", hostileText(dice)]),
  };
  return { ...base, ...Object.fromEntries(Object.entries(more).filter(() => dice.chance(0.12))) };
}

const threadPath = (dice: Dice, known: Known): string =>
  `${dice.pick(["/threads", "/api/threads"])}/${encodeURIComponent(known.id(dice, "thread_id").toWellFormed())}`;

export function commandRequest(dice: Dice, actor: Actor): FuzzRequest {
  const { known } = actor;
  const headers = { ...actor.headers, ...someHeaders(dice) };
  const streams = dice.chance(0.2);
  const filter = {
    channels: dice.some(4, () => dice.pick(CHANNELS)),
    ...generateParams(dice, "subscription.subscribe", known),
  };
  const path = threadPath(dice, known) + (streams ? dice.pick(["/stream", "/stream/events"]) : "/commands");
  return {
    kind: "command",
    actor: actor.name,
    method: "POST",
    path,
    ...encodeBody(dice, streams ? filter : command(dice, known), headers),
  };
}

export function socketRequest(dice: Dice, actor: Actor): FuzzRequest {
  const { known } = actor;
  const path = threadPath(dice, known) + dice.pick(["/stream", "/stream/events"]);
  const frames = Array.from({ length: dice.int(1, 6) }, () => {
    const text = toJson(command(dice, known));
    return dice.chance(0.1) ? damageText(dice, text) : text;
  });
  return { kind: "socket", actor: actor.name, method: "GET", path, headers: actor.headers, frames };
}
