import { relative } from "node:path";

/** The path of a file as seen from a folder, with slashes, as configuration files and imports have it. */
export const posix = (from: string, to: string): string => relative(from, to).replaceAll("\\", "/");
