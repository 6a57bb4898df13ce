/** The Agent Server's shapes, as far as the page reads them. */

export interface Assistant {
  assistant_id: string;
  graph_id: string;
  name: string;
  description?: string | null;
  version: number;
  context?: Record<string, unknown> | null;
  metadata?: Record<string, unknown> | null;
}

type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

export interface ThreadRow {
  thread_id: string;
  status: ThreadStatus;
  created_at: string;
  updated_at: string;
  metadata?: Record<string, unknown> | null;
  /** By task. A stopped thread is "interrupted" too, with none. */
  interrupts?: Record<string, unknown[]> | null;
  extracted?: { first?: unknown } | null;
  /** Only where a thread is read by itself. */
  values?: { messages?: unknown } | null;
}

/** A message as JSON, or as the stream's class instance: both have these. */
export interface RawMessage {
  id?: string | undefined;
  type: string;
  content: unknown;
  name?: string | undefined;
  tool_calls?: { id?: string | undefined; name: string; args: Record<string, unknown> }[] | undefined;
  tool_call_id?: string | undefined;
  status?: string | undefined;
  additional_kwargs?: Record<string, unknown> | undefined;
  usage_metadata?: { total_tokens?: number } | undefined;
  response_metadata?: Record<string, unknown> | undefined;
  /** Set by the page: the run ended before the message was complete. */
  stopped?: boolean;
}

export interface Interrupt {
  id: string;
  value: unknown;
}

export interface ThreadState {
  values: { messages?: RawMessage[] } | null;
  next: string[];
  tasks: { id: string; name: string; error?: unknown; interrupts?: { id?: string; value: unknown }[] }[];
  checkpoint: { checkpoint_id: string; checkpoint_ns?: string };
  parent_checkpoint?: { checkpoint_id: string } | null;
  created_at?: string | null;
  metadata?: { source?: string; step?: number; run_id?: string } | null;
}

/** A checkpoint of a history that was requested without values. */
export interface HistoryStep extends Pick<
  ThreadState,
  "next" | "checkpoint" | "parent_checkpoint" | "created_at" | "metadata"
> {
  extracted: { last: unknown };
}

export interface Run {
  run_id: string;
  status: string;
  created_at: string;
  kwargs?: { command?: { resume?: unknown } | null };
  /** Only on a run that resumes an interrupt: over which protocol, and for whom the link was made. */
  answered?: { via: string; name?: string };
}

/** A property of a flat JSON Schema, for the context form. */
export interface SchemaProperty {
  type?: string | string[];
  enum?: unknown[];
  title?: string;
  description?: string;
  default?: unknown;
}

export interface AssistantSchemas {
  context_schema?: { properties?: Record<string, SchemaProperty>; required?: string[] } | null;
  config_schema?: { properties?: Record<string, SchemaProperty>; required?: string[] } | null;
}
