--
return{scripts={"release_if_owner"},acquire=function()local deadline=now()+-9223372036854775808 while now()<deadline do end if d then d()end
y()end,release=function()t("",{})end}