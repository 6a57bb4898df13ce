/** Replaces `langsmith` in the page's bundle (see vite.config.ts): the same names, and no run is ever traced. */

export class Client {
  readonly traced = false;
}

export class RunTree {
  readonly traced = false;
}

export const isRunTree = () => false;
export const isTraceableFunction = () => false;
export const getCurrentRunTree = () => undefined;
export const getDefaultProjectName = () => "";
export const convertToDottedOrderFormat = () => ({ dottedOrder: "", microsecondPrecisionDatestring: "" });
