-- Claims the lane for a cluster, unless another one has it.
--
-- KEYS     the keys that say whose the lane and the dead letters are
-- ARGV[1]  the cluster
--
-- Returns  {} or, if another cluster has it, {key, that cluster}; nothing is claimed then

for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner and owner ~= ARGV[1] then return {key, owner} end
end
for _, key in ipairs(KEYS) do
  -- Not again where it is claimed: a server that is full refuses even that.
  if redis.call('EXISTS', key) == 0 then redis.call('SET', key, ARGV[1]) end
end
return {}
