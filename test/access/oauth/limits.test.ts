import { expect, it } from "vitest";
import { post } from "./person.ts";

it.each(["/oauth/token", "/oauth/revoke"])("%s is limited per address", async (path) => {
  const call = (address: string) => post(path, { token: "guess", client_id: "absent" }, address);
  const answers: Response[] = [];
  // Twice the limit: a new minute may begin in between.
  while (answers.length < 125 && answers.at(-1)?.status !== 429) answers.push(await call("192.0.2.7"));
  const refused = answers.pop();
  expect(answers.length).toBeGreaterThanOrEqual(60);
  expect(refused?.status).toBe(429);
  expect(await refused?.json()).toMatchObject({ error: "too_many_requests" });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await call("192.0.2.8")).status).not.toBe(429);
});
