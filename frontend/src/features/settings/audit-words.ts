/** `createApiKey` → "create api key": the operation's name as people read it. */
export function actionWords(action: string): string {
  return action.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
