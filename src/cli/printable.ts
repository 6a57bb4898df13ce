/** Text without the control characters by which what a server stores could write to the terminal. */
// oxlint-disable-next-line no-control-regex
export const printable = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "?");
