/** The stock clients, in the versions that people have. */
import { Client as Client115 } from "@langchain/langgraph-sdk";
import { Client as Client20 } from "langgraph-sdk-2-0";
import type { Access } from "../support/server.ts";
import { pickCases } from "../support/thorough.ts";

/** The newest client's type; what the older one lacks, its tests leave out. */
export type Client = Client115;

export const VERSIONS = pickCases(["2.0.0", "1.15.0"] as const, 1);

export function createClient(version: (typeof VERSIONS)[number], { url, key }: Access): Client {
  const options = { apiUrl: url, apiKey: key, callerOptions: { maxRetries: 0 } };
  return version === "1.15.0" ? new Client115(options) : (new Client20(options) as unknown as Client);
}
