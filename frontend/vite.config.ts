import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` finds the API; a built page is served by the API itself. */
const api = process.env.REINFORGE_URL ?? "http://127.0.0.1:8321";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    manifest: true,
    assetsInlineLimit: 0,
    // The licences of what is bundled ask for their notices to travel along.
    license: { fileName: "licenses.md" },
    rollupOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "react", test: /node_modules\/(react|react-dom|scheduler)\// }],
        },
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": { target: api }, "/guide": { target: api }, "/healthz": { target: api } },
  },
  // The time limit is for a machine that runs other tests too; a test takes milliseconds.
  test: { environment: "node", include: ["src/**/*.test.ts"], testTimeout: 60_000 },
});
