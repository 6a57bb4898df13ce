/** A run that is opened in the playground. It is passed in memory: its contents are in no address and no history. */
export const PLAYGROUND = "/console/playground";

/** A run of a model. */
export interface OpenedRun {
  id: string;
  name: string;
  inputs: unknown;
  extra: { metadata?: Record<string, unknown>; invocation_params?: unknown };
}

let waiting: OpenedRun | undefined;

/** Leaves the run for the view of the playground, which opens next. */
export function handOver(run: OpenedRun | undefined): void {
  waiting = run;
}

/** The run that was left. It stays until `handOver(undefined)`: React may ask twice. */
export const handedOver = (): OpenedRun | undefined => waiting;
