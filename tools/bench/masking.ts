/**
 * What masking costs: ingest as in `traces`, in turn with ten rules and without, on one server. The figure is the ratio of the
 * processor times of workerd.
 */
import { load, table } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import type { Bench } from "./bench.ts";
import { startPlain } from "./servers/plain.ts";
import type { Weir } from "./servers/server.ts";
import { send } from "./traces.ts";

const RUNS = chooseAmount(10_000, 200);
const ROUNDS = chooseAmount(6, 1);

const RULES = [
  ...["email", "phone", "iban", "card", "key"].map((set) => ({ type: "set", set })),
  { type: "regex", name: "employee", pattern: "EMP-[0-9]{6}" },
  { type: "regex", name: "secret", pattern: "secret=\\S+", ignore_case: true },
  { type: "regex", name: "ssn", pattern: "\\b[0-9]{3}-[0-9]{2}-[0-9]{4}\\b" },
  { type: "path", name: "password", path: "$..password" },
  { type: "path", name: "birthday", path: "$.inputs.user.birthday" },
];

async function setRules({ url, headers }: Weir, rules: object[]): Promise<void> {
  const body = JSON.stringify({ rules });
  const init = { method: "PUT", headers: { ...headers, "content-type": "application/json" }, body };
  const answer = await fetch(`${url}/api/v1/masking-rules`, init);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
}

export const bench: Bench = {
  title: "masking of traces",
  async start() {
    await using server = await startPlain();
    const days = [Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`)];
    await send(server, "warm", chooseAmount(5_000, 100), days);
    const micros: Record<string, number[]> = { without: [], with: [] };
    for (let round = 0; round < ROUNDS; round++) {
      // The order changes, so that neither has the fuller database.
      for (const kind of round % 2 === 0 ? ["without", "with"] : ["with", "without"]) {
        await setRules(server, kind === "with" ? RULES : []);
        await send(server, `${kind} warm`, chooseAmount(2_000, 100), days);
        const [, , , cpu] = await send(server, `${kind} ${round}`, RUNS, days);
        micros[kind]?.push(Number.parseInt(String(cpu), 10));
      }
    }
    const sum = (kind: string) => (micros[kind] ?? []).reduce((total, one) => total + one, 0) / ROUNDS;
    const [bare, masked] = [sum("without"), sum("with")];
    const ratio = `${((masked / bare - 1) * 100).toFixed(1)} %`;
    table(
      ["rules", "CPU of workerd a run", "more"],
      [
        ["none", `${bare.toFixed(0)} us`, ""],
        ["ten", `${masked.toFixed(0)} us`, ratio],
      ],
    );
    console.log(`\nLoad: ${load()}.\n`);
  },
};
