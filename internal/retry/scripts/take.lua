-- Takes what is due. One call looks at no more than ARGV[2] entries of each part, so that its cost has a bound.
--
-- KEYS[1]  the list that producers append to
-- KEYS[2]  parked entries, a sorted set by due time in milliseconds
-- KEYS[3]  leased entries, a sorted set by the end of the lease in milliseconds
-- ARGV[1]  length of a lease in milliseconds
-- ARGV[2]  limit
-- ARGV[3]  payload version that the caller reads
-- ARGV[4]  largest size of an entry in bytes
--
-- Returns  {due entries, unreadable entries, due time of the next parked entry or "", 1 if there may be more else 0}

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local lease, limit, version, largest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ends = now + lease

-- dueTime reads "2026-01-02T15:04:05.678Z" as milliseconds since 1970, rounded up; nil if it can't.
local function dueTime(text)
  if type(text) ~= 'string' then return nil end
  local y, mo, d, h, mi, s, rest = string.match(text, '^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)(.*)Z$')
  if not y then return nil end
  y, mo, d, h, mi, s = tonumber(y), tonumber(mo), tonumber(d), tonumber(h), tonumber(mi), tonumber(s)
  if mo < 1 or mo > 12 or d < 1 or d > 31 or h > 23 or mi > 59 or s > 60 then return nil end
  local fraction = 0
  if rest ~= '' then
    local digits = string.match(rest, '^%.(%d+)$')
    if not digits then return nil end
    fraction = math.ceil(tonumber('0.' .. digits) * 1000)
  end
  -- Days since 1970 in the proleptic Gregorian calendar, counting years from March.
  if mo <= 2 then y, mo = y - 1, mo + 12 end
  local days = 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
    + math.floor((153 * (mo - 3) + 2) / 5) + d - 1 - 719468
  return ((days * 24 + h) * 60 + mi) * 60000 + s * 1000 + fraction
end

local due, unreadable = {}, {}

-- Leases that have ended: their holder is gone.
local ended = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, limit)

-- New entries. What isn't due is parked without ever being under a lease.
local fresh = redis.call('LRANGE', KEYS[1], 0, limit - 1)
for _, raw in ipairs(fresh) do
  local ok, entry = false, nil
  if #raw <= largest then ok, entry = pcall(cjson.decode, raw) end
  local at = nil
  if ok and type(entry) == 'table' and entry['version'] == version then at = dueTime(entry['not_before']) end
  if at == nil then
    redis.call('ZADD', KEYS[3], ends, raw)
    unreadable[#unreadable + 1] = raw
  else
    redis.call('ZADD', KEYS[2], at, raw)
  end
end
if #fresh > 0 then redis.call('LTRIM', KEYS[1], #fresh, -1) end

for _, raw in ipairs(ended) do
  local ok, entry = false, nil
  if #raw <= largest then ok, entry = pcall(cjson.decode, raw) end
  redis.call('ZADD', KEYS[3], ends, raw)
  if ok and type(entry) == 'table' and entry['version'] == version and dueTime(entry['not_before']) then
    due[#due + 1] = raw
  else
    unreadable[#unreadable + 1] = raw
  end
end

-- Parked entries whose time has come.
local ripe = {}
if limit > #due then ripe = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, limit - #due) end
for _, raw in ipairs(ripe) do
  redis.call('ZADD', KEYS[3], ends, raw)
  redis.call('ZREM', KEYS[2], raw)
  due[#due + 1] = raw
end

local nextDue = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local more = 0
if #fresh == limit or #due >= limit or (nextDue[2] and tonumber(nextDue[2]) <= now) then more = 1 end
return {due, unreadable, nextDue[2] or '', more}
