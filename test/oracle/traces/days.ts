/** The UTC day of a time in microseconds. */
export const toDay = (micros: number): string => new Date(Math.floor(micros / 1000)).toISOString().slice(0, 10);
