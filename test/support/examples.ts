/** Datasets and examples for tests in workerd. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type MultipartPart, multipart } from "./traces.ts";
import type { Caller } from "./caller.ts";

export interface Example {
  id: string;
  dataset_id: string;
  created_at: string;
  modified_at: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown> | null;
  metadata: Record<string, unknown>;
  attachment_urls: Record<string, { presigned_url: string; mime_type: string }> | null;
}

/** A call that must answer 2xx; its JSON. */
export async function ask<T>(
  caller: Caller,
  path: string,
  options: { method?: string; body?: unknown } = {},
): Promise<T> {
  const response = await caller.fetch(path, options);
  const text = await response.text();
  expect([path, response.status < 300, text]).toEqual([path, true, text]);
  return JSON.parse(text) as T;
}

export async function newDataset(caller: Caller, more: object = {}): Promise<string> {
  return (await ask<{ id: string }>(caller, "/datasets", { body: { name: crypto.randomUUID(), ...more } })).id;
}

/** Sends examples as the SDKs do. */
export async function sendExamples(
  caller: Caller,
  dataset: string,
  parts: MultipartPart[],
  method = "POST",
  path = "/v1/platform",
): Promise<Response> {
  return caller.fetch(`${path}/datasets/${dataset}/examples`, {
    method,
    body: multipart(parts),
    headers: { "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc" },
  });
}

/** The parts of one example. */
export function exampleParts(
  id: string,
  { inputs, outputs, ...head }: { inputs?: object; outputs?: object; [member: string]: unknown },
): MultipartPart[] {
  return [
    { name: id, data: JSON.stringify(head) },
    ...(inputs ? [{ name: `${id}.inputs`, data: JSON.stringify(inputs) }] : []),
    ...(outputs ? [{ name: `${id}.outputs`, data: JSON.stringify(outputs) }] : []),
  ];
}

/** The R2 keys of a dataset. */
export async function blobKeys(caller: Caller, dataset: string): Promise<string[]> {
  const { objects } = await env.BLOBS.list({ prefix: `datasets/${caller.workspaceId}/${dataset}/` });
  return objects.map(({ key }) => key);
}
