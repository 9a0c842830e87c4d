-- Takes what is due and leases it to the caller; parks what is new and isn't due.
--
-- KEYS[1]  the list that producers append to
-- KEYS[2]  parked entries, by due time in milliseconds
-- KEYS[3]  leased entries, by the end of the lease in milliseconds
-- ARGV[1]  how many entries to take at most
-- ARGV[2]  length of a lease, in milliseconds
-- ARGV[3]  payload version that the caller reads
-- ARGV[4]  largest entry that is read, in bytes
-- ARGV[5]  how many new entries to sort at most
-- ARGV[6]  how many bytes of entries to read or to take before it stops
--
-- Returns  {"1" if there is more to take at once, else "0"; when something will be due next, or "";
--           and for each entry taken: the entry, and its due time as it was read, or ""}

local list, parked, leased = KEYS[1], KEYS[2], KEYS[3]
local limit, lease, version, largest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local scan, budget = tonumber(ARGV[5]), tonumber(ARGV[6])

-- How many new entries are read at a time.
local CHUNK = 64

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local function ms(n) return string.format('%.0f', n) end
local lease_end = ms(now + lease)

-- This removes nothing. But a script that has written may go on writing on a server that is full, and so entries can be
-- taken from one: they only move.
redis.call('ZREMRANGEBYRANK', leased, 1, 0)

local DAYS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
local function days_of(year, month)
  if month == 2 and year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) then return 29 end
  return DAYS[month]
end

-- An RFC 3339 time in UTC as milliseconds since 1970, rounded up; nil for any other text.
local function moment(text)
  local year, month, day, hour, minute, second, fraction =
    string.match(text, '^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)Z$')
  if not year or fraction == '.' or #fraction > 10 then return nil end
  -- Digits that no dot leads would be a longer number of seconds.
  if fraction ~= '' and string.sub(fraction, 1, 1) ~= '.' then return nil end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second)
  if month < 1 or month > 12 or day < 1 or day > days_of(year, month) then return nil end
  if hour > 23 or minute > 59 or second > 59 then return nil end
  -- Years that begin in March have their leap day at the end.
  local y, m = year, month - 3
  if m < 0 then y, m = y - 1, m + 12 end
  local days = y * 365 + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
    + math.floor((153 * m + 2) / 5) + day - 1 - 719468
  local part = 0
  if fraction ~= '' then
    local nanos = tonumber(string.sub(string.sub(fraction, 2) .. '00000000', 1, 9))
    part = math.ceil(nanos / 1000000)
  end
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + part
end

-- When an entry is due; nil if that can't be read.
local function due_at(raw)
  if #raw > largest then return nil end
  local ok, entry = pcall(cjson.decode, raw)
  if not ok or type(entry) ~= 'table' or entry.version ~= version or type(entry.not_before) ~= 'string' then return nil end
  return moment(entry.not_before)
end

local out, taken, bytes = {'0', ''}, 0, 0
local function full() return taken >= limit or bytes >= budget end
local function hand_out(raw, due)
  out[#out + 1] = raw
  out[#out + 1] = due and ms(due) or ''
  taken, bytes = taken + 1, bytes + #raw
end

-- A lease that ends later than any does from now was made before the clock went back, or damaged.
for _, raw in ipairs(redis.call('ZRANGEBYSCORE', leased, '(' .. lease_end, '+inf', 'LIMIT', 0, limit)) do
  redis.call('ZADD', leased, lease_end, raw)
end

-- Leases that have ended: whoever held the entry is gone.
for _, raw in ipairs(redis.call('ZRANGEBYSCORE', leased, '-inf', ms(now), 'LIMIT', 0, limit)) do
  if full() then break end
  redis.call('ZADD', leased, lease_end, raw)
  hand_out(raw, due_at(raw))
end

-- Parked entries whose time has come. One that is in hand as well is the same entry, pushed again.
if not full() then
  for _, raw in ipairs(redis.call('ZRANGEBYSCORE', parked, '-inf', ms(now), 'LIMIT', 0, limit - taken)) do
    if full() then break end
    local added = redis.call('ZADD', leased, 'NX', lease_end, raw)
    redis.call('ZREM', parked, raw)
    if added == 1 then hand_out(raw, due_at(raw)) end
  end
end

-- New entries. What isn't due, or has no room in this pass, is parked and never leased. What can't be read is due.
local seen, read, done = 0, 0, false
while not done and seen < scan do
  local chunk = redis.call('LRANGE', list, 0, math.min(CHUNK, scan - seen) - 1)
  local sorted = 0
  for _, raw in ipairs(chunk) do
    if read >= budget then break end
    local due = due_at(raw)
    if (due == nil or due <= now) and not full() then
      if redis.call('ZADD', leased, 'NX', lease_end, raw) == 1 then hand_out(raw, due) end
      redis.call('ZREM', parked, raw)
    elseif not redis.call('ZSCORE', leased, raw) then
      -- The earlier time holds: a push repairs a due time that somebody damaged. What is in hand is the same entry,
      -- pushed again.
      redis.call('ZADD', parked, 'LT', ms(due or now), raw)
    end
    sorted, read = sorted + 1, read + #raw
  end
  if sorted > 0 then redis.call('LTRIM', list, sorted, -1) end
  seen = seen + sorted
  done = sorted < CHUNK
end

local next_parked = redis.call('ZRANGE', parked, 0, 0, 'WITHSCORES')[2]
local next_leased = redis.call('ZRANGE', leased, 0, 0, 'WITHSCORES')[2]
local next_due = next_parked or next_leased
if next_parked and next_leased and tonumber(next_leased) < tonumber(next_parked) then next_due = next_leased end
if redis.call('LLEN', list) > 0 or (next_due and tonumber(next_due) <= now) then out[1] = '1' end
out[2] = next_due or ''
return out
