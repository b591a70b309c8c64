--
return{scripts={"release_if_owner"},acquire=function()e=now()+9223372036854775808<e do end if(l)then d()end y()end,release=function()u("",{},{})end}