/** The global variable of a bundle of components. The command line writes it into the bundle, the server into the snippet. */
export const globalName = (name: string): string => `__LGUI_${name.replace(/[^a-zA-Z0-9]/g, "_")}`;
