import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { objectNamed } from "../../src/lib/rpc.ts";

/** A namespace that records its calls: workerd supports neither jurisdictions nor regions. */
function listAsked(settings: Parameters<typeof objectNamed>[0]): unknown[] {
  const calls: unknown[] = [];
  const namespace = {
    jurisdiction: (name: string) => (calls.push(["jurisdiction", name]), namespace),
    idFromName: (name: string) => (calls.push(["id", name]), name),
    get: (_id: string, options?: object) => calls.push(["get", options]),
  };
  objectNamed(settings, namespace as unknown as Env["THREAD"], "a");
  return calls;
}

it("an object is near its first caller, or where the deployment says", () => {
  expect(listAsked({})).toEqual([
    ["id", "a"],
    ["get", undefined],
  ]);
  expect(listAsked({ OBJECT_LOCATION: "weur" })).toEqual([
    ["id", "a"],
    ["get", { locationHint: "weur" }],
  ]);
  expect(listAsked({ OBJECT_JURISDICTION: "eu" })).toEqual([
    ["jurisdiction", "eu"],
    ["id", "a"],
    ["get", undefined],
  ]);
});

it("an object has the name that it was found by", () => {
  expect(objectNamed({}, env.THREAD, "workspace:thread").id.name).toBe("workspace:thread");
});
