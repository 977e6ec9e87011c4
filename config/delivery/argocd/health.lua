-- Health of a LoadTest for Argo CD. The test controllers/internal/status/delivery_test.go runs it on every state of a LoadTest.
local hs = {status = "Progressing", message = "The operator has not seen the LoadTest"}
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
local conditions = {}
for _, c in ipairs(obj.status.conditions) do
  conditions[c.type] = c
end
local function is(kind, status)
  return conditions[kind] ~= nil and conditions[kind].status == status
end
local function message(kind)
  return conditions[kind] ~= nil and conditions[kind].message or ""
end
if is("Passed", "True") then
  hs.status, hs.message = "Healthy", message("Passed")
elseif is("Finished", "True") then
  hs.status, hs.message = "Degraded", message("Passed")
  if conditions["Passed"] == nil or conditions["Passed"].reason == "NotSucceeded" then
    hs.message = message("Finished")
  end
elseif is("Stalled", "True") then
  hs.status, hs.message = "Degraded", message("Stalled")
elseif obj.status.phase == "Suspended" then
  hs.status, hs.message = "Suspended", message("Finished")
elseif is("RunnersReady", "True") then
  hs.message = message("Finished")
else
  hs.message = message("RunnersReady")
end
return hs
