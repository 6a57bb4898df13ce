/** What kind of server this is. */
import type { Features } from "./record.ts";
import { type Address, type Recorder, readStatus } from "./recorder.ts";

interface Info {
  version?: string;
  weir_version?: string;
  langgraph_js_version?: string;
  langgraph_py_version?: string;
  flags?: { strict_resume?: boolean };
}

export async function readFeatures({ url, headers }: Address, recorder: Recorder): Promise<Features> {
  const answer = await fetch(`${url}/info`, { headers });
  const info = (answer.ok ? await answer.json().catch(() => ({})) : {}) as Info;
  const weir = info.weir_version !== undefined;
  const language = info.langgraph_py_version ? "Python" : info.langgraph_js_version ? "JavaScript" : "unknown";
  return {
    name: weir ? `Weir ${info.weir_version}` : `Agent Server ${info.version ?? "of unknown version"} (${language})`,
    weir,
    strictResume: info.flags?.strict_resume === true,
    protocol: await hasProtocol(recorder),
  };
}

/** A command that no server has: one with the protocol says so. */
async function hasProtocol(recorder: Recorder): Promise<boolean> {
  try {
    const answer = await recorder.send("POST", `/threads/${crypto.randomUUID()}/commands`, { id: 1, method: "none" });
    const { type } = await answer.json<{ type?: string }>();
    return type === "error";
  } catch (error) {
    if (readStatus(error) === undefined) throw error;
    return false;
  }
}
