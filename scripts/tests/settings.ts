/** The environment variables that decide how the tests in workerd run: `process.env` holds them there, too. */
export const SETTINGS = ["SEED", "SEQUENCES", "EXPORT_MATRIX", "OPERATIONS"];
