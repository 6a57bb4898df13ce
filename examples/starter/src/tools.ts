/** What the agent can do besides talking. */
import { tool } from "@langchain/core/tools";
import Formula from "fparser";
import { z } from "zod";

export const calculator = tool(
  ({ expression }) => {
    const result: unknown = new Formula(expression).evaluate({});
    if (typeof result !== "number") throw new Error("The expression has no number as its result.");
    return String(Number(result.toPrecision(12)));
  },
  {
    name: "calculator",
    description: "Works out an arithmetic expression, such as (2 + 3) * sqrt(16) / 2^3.",
    schema: z.object({ expression: z.string().max(500) }),
  },
);

export const currentTime = tool(
  ({ zone }) => {
    const format = { timeZone: zone, dateStyle: "full", timeStyle: "short" } as const;
    return new Intl.DateTimeFormat("en-GB", format).format(new Date());
  },
  {
    name: "current_time",
    description: "The date and time now in a time zone.",
    schema: z.object({ zone: z.string().default("UTC").describe("An IANA name, such as Europe/Berlin.") }),
  },
);
