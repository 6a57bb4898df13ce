/** The pointer is a finger: bigger targets, and Enter breaks the line. */
export const coarse = matchMedia("(pointer: coarse)").matches;
